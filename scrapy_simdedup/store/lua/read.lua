-- What changed after a position: where to read on, 1 if that is all, then id, position and record of each.
-- ARGV: the position, the most records to give.

local found = redis.call('ZRANGEBYSCORE', log, '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local more = #found == 2 * ARGV[2]
local tail = { more and found[#found] or text(counter()), more and 0 or 1 }
for at = 1, #found, 2 do
    local value = redis.call('HGET', pages, found[at])
    if value then -- else the server, short of memory, dropped a key
        tail[#tail + 1] = found[at]
        tail[#tail + 1] = found[at + 1]
        tail[#tail + 1] = value
    end
end
return tail
