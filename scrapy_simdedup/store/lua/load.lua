-- Add settled records of new pages behind a position, unless something changed after it; 1, or nothing.
-- ARGV: the position, seconds to live or nothing, and the records.

local at = tonumber(ARGV[1])
if counter() > at then
    return false
end
for number = 3, #ARGV do
    at = at + 1
    local id, value = text(at), ARGV[number]
    redis.call('ZADD', log, id, id)
    redis.call('HSET', pages, id, value)
    redis.call('HSET', versions, key_of(value), id)
end
expire(ARGV[2])
return 1
