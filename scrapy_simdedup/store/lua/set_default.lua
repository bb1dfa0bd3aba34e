-- Keep a value unless there is one already; what is there then.
-- KEYS: a hash. ARGV: name, value.

redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
