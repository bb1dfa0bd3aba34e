-- Note that a worker is alive, and delete the workers whose last heartbeat is long ago.
-- KEYS: a sorted set. ARGV: worker, the time, the time before which others are dropped.

redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[3])
