-- Change a record's state, if it is in one of those from which that is a step.
-- ARGV: id, new state, the states before it one after the other, the time, seconds to live or nothing.

local value = redis.call('HGET', pages, ARGV[1])
if value and string.find(ARGV[3], struct.unpack('B', value), 1, true) then
    local state = tonumber(ARGV[2])
    change(ARGV[1], value, state, tonumber(ARGV[4]))
    if state ~= RELEASED then
        supersede(key_of(value), ARGV[1])
    end
    expire(ARGV[5])
end
