-- What changed after a position: the counter, then id, position and record of each.
-- ARGV: the position, the most records to give.

local tail = { text(counter()) }
local found = redis.call('ZRANGEBYSCORE', log, '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for at = 1, #found, 2 do
    tail[#tail + 1] = found[at]
    tail[#tail + 1] = found[at + 1]
    tail[#tail + 1] = redis.call('HGET', pages, found[at])
end
return tail
