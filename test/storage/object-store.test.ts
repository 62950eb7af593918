import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDirectory } from '../../src/object-store/directory.ts'
import { type ObjectStore, ObjectStoreError } from '../../src/object-store/object-store.ts'
import { openS3 } from '../../src/object-store/s3.ts'
import { startObjectServer } from '../support/object-server.ts'

const content = Uint8Array.from({ length: 5000 }, (_, at) => at % 251)
const key = 'cdrs/202601/a b+c=ü.parquet'

const makers = {
  async directory() {
    const folder = mkdtempSync(join(tmpdir(), 'object-store-'))
    return {
      store: openDirectory(folder),
      stop: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
  async bucket() {
    const server = await startObjectServer()
    return { store: openS3(server.place), stop: server.stop }
  },
}

describe.each(['directory', 'bucket'] as const)('Objects in a %s', (kind) => {
  let store: ObjectStore
  let stop: () => Promise<void>

  beforeAll(async () => {
    const made = await makers[kind]()
    store = made.store
    stop = made.stop
  })
  afterAll(() => stop())

  it('are read in parts as they were written', async () => {
    await store.put(key, content)
    expect(await store.size(key)).toBe(5000)
    expect(await store.read(key, 10, 30)).toEqual(content.slice(10, 30))
    expect(await store.read(key, 0, 5000)).toEqual(content)
    await store.put(key, content.slice(0, 7))
    expect(await store.size(key)).toBe(7)
  })

  it('that are shorter than what is asked for, or not there, give no bytes', async () => {
    await store.put('short', content.slice(0, 7))
    await expect(store.read('short', 0, 8)).rejects.toThrow(ObjectStoreError)
    await expect(store.read('nothing', 0, 8)).rejects.toThrow(ObjectStoreError)
    expect(await store.size('nothing')).toBeUndefined()
  })

  it('are gone once they are removed, which may be done again', async () => {
    await store.put('going', content)
    await store.remove('going')
    await store.remove('going')
    expect(await store.size('going')).toBeUndefined()
  })
})

describe('A bucket', () => {
  it('that is another one, or not reached with these keys, takes nothing and says why without the keys', async () => {
    const server = await startObjectServer()
    const messageOf = (made: ObjectStore) =>
      made.put(key, content).then(
        () => 'taken',
        (error: Error) => error.message,
      )
    const { place } = server
    expect(await messageOf(openS3({ ...place, bucket: 'others' }))).toContain('404 NoSuchBucket')
    const wrong = await messageOf(openS3({ ...place, secretAccessKey: 'wrong-secret' }))
    expect(wrong).toContain('403 SignatureDoesNotMatch')
    expect(wrong).not.toContain('wrong-secret')
    await expect(openS3({ ...place, bucket: 'others' }).remove(key)).rejects.toThrow('NoSuchBucket')
    expect(server.objects.size).toBe(0)
    await server.stop()
    expect(await messageOf(openS3(place))).toContain('cannot be reached')
  })
})

describe('A directory', () => {
  it('holds an object after a power loss, in folders that were made for it as well', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'object-store-'))
    const durable = new Set<string>()
    const store = openDirectory(folder, (synced) => {
      for (const name of readdirSync(synced)) durable.add(join(synced, name))
    })
    await store.put('cdrs/202601/a.parquet', content)
    const names = ['cdrs', 'cdrs/202601', 'cdrs/202601/a.parquet'].map((name) => join(folder, name))
    expect([...durable].sort()).toEqual(names)
    rmSync(folder, { recursive: true })
  })
})

describe('A directory that is not there', () => {
  it('takes nothing and is not made: it may be a disk that is not mounted', async () => {
    const store = openDirectory(join(tmpdir(), 'no-such-directory', 'at-all'))
    await expect(store.put(key, content)).rejects.toThrow(ObjectStoreError)
    await expect(store.remove(key)).rejects.toThrow(ObjectStoreError)
  })
})
