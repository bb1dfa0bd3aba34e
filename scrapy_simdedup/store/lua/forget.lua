-- Turn records into tombstones without a fingerprint.
-- ARGV: the time, seconds to live or nothing, the ids.

for at = 3, #ARGV do
    local value = redis.call('HGET', pages, ARGV[at])
    if value then
        local _, _, key_size, body_size = struct.unpack(HEAD, value)
        change(ARGV[at], string.sub(value, 1, HEAD_SIZE + key_size + body_size), RELEASED, tonumber(ARGV[1]))
    end
end
expire(ARGV[2])
