import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { type ObjectStore, ObjectStoreError, type S3Place } from '../../src/object-store/object-store.ts'
import { openDirectory, openS3 } from '../../src/object-store/open.ts'
import { startObjectServer } from '../support/servers/object-server.ts'

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

/** A bucket behind something that answers everything in its own way. */
const bucketThat = async (answer: (response: ServerResponse) => void) => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const place: S3Place = {
    kind: 's3',
    bucket: 'calls',
    prefix: '',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-test-1',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'a-secret-that-is-never-told',
    sessionToken: undefined,
  }
  return {
    store: openS3(place),
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** Sends until the client disconnects, and resolves then. */
const sendEndlessly = (response: ServerResponse) =>
  new Promise<void>((left) => {
    const chunk = Buffer.alloc(16_000, 'x')
    const more = () => {
      while (response.write(chunk));
    }
    response
      .on('drain', more)
      .on('close', left)
      .on('error', () => undefined)
    more()
  })

describe('A bucket that answers strangely', () => {
  it('takes a removal of what is not there, and of nothing else', async () => {
    const codes = ['NoSuchKey', 'NoSuchBucket']
    const bucket = await bucketThat((response) =>
      response.writeHead(404).end(`<Error><Code>${codes.shift()}</Code></Error>`),
    )
    await bucket.store.remove(key)
    await expect(bucket.store.remove(key)).rejects.toThrow('404 NoSuchBucket')
    await bucket.stop()
  })

  it.each([
    ['knows no ranges', 200, 'read'],
    ['is in trouble', 503, 'read'],
    ['is in trouble', 503, 'remove'],
    ['is done', 200, 'put'],
  ] as const)('and %s, with a body of %i that never ends, is not heard out', async (_, status, call) => {
    let left: Promise<void> | undefined
    const bucket = await bucketThat((response) => {
      left = sendEndlessly(response.writeHead(status))
    })
    const { store } = bucket
    const calls = {
      read: () => store.read(key, 0, 10),
      remove: () => store.remove(key),
      put: () => store.put(key, content),
    }
    const said = await calls[call]().then(
      () => 'done',
      (error: Error) => `${error.name} ${error.message.includes(String(status))}`,
    )
    expect(said).toBe(call === 'put' ? 'done' : 'ObjectStoreError true')
    await left
    await bucket.stop()
  })

  it.each([206, 503])('and breaks off in an answer of %i fails as a bucket does', async (status) => {
    const bucket = await bucketThat((response) => {
      response.writeHead(status, { 'content-length': 100 }).write('x', () => response.destroy())
    })
    await expect(bucket.store.read(key, 0, 100)).rejects.toThrow(ObjectStoreError)
    await bucket.stop()
  })
})

describe('The address of a bucket', () => {
  const read = (address: string) => () => readConfig({ AWS_ENDPOINT_URL_S3: address })

  it('is one of http or https', () => {
    for (const address of ['https://s3.example', 'http://127.0.0.1:9000/', 'https://s3.example/at/all'])
      expect(read(address)).not.toThrow()
    expect(read('ftp://s3.example')).toThrow('AWS_ENDPOINT_URL_S3 must be a URL')
  })

  it('holds no keys, which messages would repeat, and nothing that a path cannot follow', () => {
    for (const address of ['user:pass@s3.example', 'user@s3.example', 's3.example/?a=1', 's3.example/#a']) {
      const mistake = 'AWS_ENDPOINT_URL_S3 must be a URL that begins with http:// or https://, without'
      expect(read(`https://${address}`)).toThrow(mistake)
      expect(read(`https://${address}`)).not.toThrow(address)
    }
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
