-- Add a record, unless something changed after a position; its id, or nothing.
-- ARGV: the position, the record, 1 if it is settled, the time before which tombstones go, seconds to live or nothing.

local value = ARGV[2]
if counter() > tonumber(ARGV[1]) then
    local last = redis.call('ZREVRANGE', log, 0, 0)[1]
    -- The answer to this very call was lost, and it is made once more.
    if redis.call('HGET', pages, last) == value then
        return last
    end
    return false
end

local id, key = text(next_position()), key_of(value)
redis.call('ZADD', log, id, id)
redis.call('HSET', pages, id, value)
local ids = keep_versions(key, function() return ARGV[3] == '1' end)
ids[#ids + 1] = id
set_versions(key, ids)
purge(ARGV[4])
expire(ARGV[5])
return id
