-- The log of one site; each script begins with this.
--
-- KEYS: four of the site
--   log       sorted set: ids by the position of their last change; the highest position is the site's counter
--   pages     hash: records by id
--   versions  hash: the ids of a page's records, by the page's key
--   released  sorted set: ids of tombstones by the time they were made
--
-- Positions are microseconds, and rise. So none is given twice, not even after the server lost some of its data: a
-- worker that settles what was lost can never hit another record.

local log, pages, versions, released = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local RELEASED = 2
local HEAD = '>BdHI' -- state, last seen, bytes of the key, bytes of the body; then the key, the body, the fingerprint
local HEAD_SIZE = 15

local function text(number)
    return string.format('%.0f', number)
end

local function counter()
    return tonumber(redis.call('ZREVRANGE', log, 0, 0, 'WITHSCORES')[2] or '0')
end

local function next_position()
    local now = redis.call('TIME')
    return math.max(counter() + 1, now[1] * 1000000 + now[2])
end

local function key_of(value)
    local _, _, size = struct.unpack(HEAD, value)
    return string.sub(value, HEAD_SIZE + 1, HEAD_SIZE + size)
end

local function drop(id)
    redis.call('ZREM', log, id)
    redis.call('ZREM', released, id)
    redis.call('HDEL', pages, id)
end

-- The ids of a page's records, without those that are to go.
local function keep_versions(key, goes)
    local left = {}
    for id in string.gmatch(redis.call('HGET', versions, key) or '', '%d+') do
        if goes(id) then
            drop(id)
        else
            left[#left + 1] = id
        end
    end
    return left
end

local function set_versions(key, ids)
    if #ids > 0 then
        redis.call('HSET', versions, key, table.concat(ids, ' '))
    else
        redis.call('HDEL', versions, key)
    end
end

local function supersede(key, id)
    set_versions(key, keep_versions(key, function(other) return tonumber(other) < tonumber(id) end))
end

local function purge(before)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', released, '-inf', before, 'LIMIT', 0, 100)) do
        local value = redis.call('HGET', pages, id)
        if value then
            local key = key_of(value)
            set_versions(key, keep_versions(key, function(other) return other == id end))
        end
        drop(id)
    end
end

-- A record in its new state, at the head of the log.
local function change(id, value, state, now)
    local _, _, key_size, body_size = struct.unpack(HEAD, value)
    redis.call('ZADD', log, text(next_position()), id)
    redis.call('HSET', pages, id, struct.pack(HEAD, state, now, key_size, body_size) .. string.sub(value, HEAD_SIZE + 1))
    if state == RELEASED then
        redis.call('ZADD', released, now, id)
    else
        redis.call('ZREM', released, id)
    end
end

-- What nobody changes for so long goes altogether.
local function expire(seconds)
    if seconds ~= '' then
        for _, name in ipairs(KEYS) do
            redis.call('EXPIRE', name, seconds)
        end
    end
end
