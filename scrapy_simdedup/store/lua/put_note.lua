-- Write a note, unless it is there already, or any note with its key where that is to stay; what is there then.
-- KEYS: a hash of notes, a sorted set of their keys by position.
-- ARGV: the key, the note, 1 if what is there stays, seconds to live or nothing.

local there = redis.call('HGET', KEYS[1], ARGV[1])
if there and (there == ARGV[2] or ARGV[3] == '1') then
    return there
end
local last = tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or '0')
local now = redis.call('TIME')
local position = math.max(last + 1, now[1] * 1000000 + now[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], string.format('%.0f', position), ARGV[1])
if ARGV[4] ~= '' then
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    redis.call('EXPIRE', KEYS[2], ARGV[4])
end
return ARGV[2]
