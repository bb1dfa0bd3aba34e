-- What was noted after a position: where to read on, 1 if that is all, then the notes.
-- KEYS: a hash of notes, a sorted set of their keys by position. ARGV: the position, the most notes to give.

local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local tail = { found[#found] or ARGV[1], #found < 2 * ARGV[2] and 1 or 0 }
for at = 1, #found, 2 do
    local value = redis.call('HGET', KEYS[1], found[at])
    if value then -- else the server, short of memory, dropped a key
        tail[#tail + 1] = value
    end
end
return tail
