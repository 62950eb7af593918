// The console's files as the server hands them out.
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('the site', (engine) => {
  const world = useWorld(engine)

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`http://127.0.0.1:${world.server.port}${path}`, { method, headers, redirect: 'manual' })

  const scriptOf = async () => /src="(\/assets\/[^"]+\.js)"/.exec(await (await get('/')).text())?.[1] ?? ''

  const directives = (response: Response) =>
    new Map(
      (response.headers.get('content-security-policy') ?? '')
        .split('; ')
        .map((one) => [one.split(' ')[0], one.split(' ').slice(1)] as const),
    )

  it('is one page, at every address of the console', async () => {
    for (const path of ['/', `/a/${world.acme.id}/devices`, '/sign-in', '/?recovery=abc']) {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('lets no script or style run that is written into a page, and nothing of another origin', async () => {
    const policy = directives(await get('/'))
    expect(policy.get('default-src')).toEqual(["'none'"])
    expect(policy.get('script-src')).toEqual(["'self'"])
    expect(policy.get('connect-src')).toEqual(["'self'"])
    expect(policy.get('frame-ancestors')).toEqual(["'none'"])
    expect(policy.get('style-src')).toEqual(["'self'", expect.stringMatching(/^'nonce-[0-9a-f]{32}'$/)])
  })

  it('knows the styles of its page by a word that is good for one answer', async () => {
    const words = await Promise.all(
      [1, 2].map(async () => {
        const response = await get('/')
        const [, word] = /nonce="([0-9a-f]{32})"/.exec(await response.text()) ?? []
        expect(response.headers.get('content-security-policy')).toContain(`'nonce-${word}'`)
        return word
      }),
    )
    expect(words[0]).not.toBe(words[1])
  })

  it('has its files kept for a year, since their names tell what is in them', async () => {
    const response = await get(await scriptOf())
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('is sent compressed to clients that accept it, and as it is to others', async () => {
    const path = await scriptOf()
    const plain = await get(path, { 'accept-encoding': 'identity' })
    expect(plain.headers.get('content-encoding')).toBeNull()
    const packed = await new Promise<{ encoding: unknown; bytes: Buffer }>((resolve, reject) => {
      const asked = request(
        `http://127.0.0.1:${world.server.port}${path}`,
        { headers: { 'accept-encoding': 'br;q=0, gzip' } },
        (response) => {
          const parts: Buffer[] = []
          response.on('data', (part) => parts.push(part))
          response.on('end', () =>
            resolve({ encoding: response.headers['content-encoding'], bytes: Buffer.concat(parts) }),
          )
        },
      )
      asked.on('error', reject).end()
    })
    expect(packed.encoding).toBe('gzip')
    expect(gunzipSync(packed.bytes).toString()).toBe(await plain.text())
  })

  it('is not sent again to a client that has it', async () => {
    const path = await scriptOf()
    const etag = (await get(path, { 'accept-encoding': 'identity' })).headers.get('etag') ?? ''
    expect((await get(path, { 'accept-encoding': 'identity', 'if-none-match': etag })).status).toBe(304)
  })

  it('answers HEAD with what GET would, without a body', async () => {
    const path = await scriptOf()
    const head = await get(path, { 'accept-encoding': 'identity' }, 'HEAD')
    const whole = await get(path, { 'accept-encoding': 'identity' })
    expect(head.headers.get('content-length')).toBe(String((await whole.arrayBuffer()).byteLength))
    expect(await head.text()).toBe('')
  })

  it.each([
    '/../package.json',
    '/assets/../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/.built-from',
    '/assets',
    '/package.json',
  ])('holds nothing else: %s', async (path) => {
    const status = await new Promise((resolve, reject) => {
      const asked = request({ port: world.server.port, path }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', reject).end()
    })
    expect(status).toBe(404)
  })

  const openFiles = () =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)]
      } catch {
        // It was closed in the meantime, such as that of the folder itself.
        return []
      }
    })

  it.skipIf(process.platform !== 'linux')('closes every file, also of readers that went away', async () => {
    const path = await scriptOf()
    await Promise.all(Array.from({ length: 20 }, async () => (await get(path)).arrayBuffer()))
    for (let left = 0; left < 20; left += 1) {
      const leaving = new AbortController()
      const response = await fetch(`http://127.0.0.1:${world.server.port}${path}`, { signal: leaving.signal })
      await response.body?.getReader().read()
      leaving.abort()
    }
    await expect.poll(() => openFiles().filter((name) => name.includes('/console/dist/'))).toEqual([])
  })

  it.skipIf(process.platform !== 'linux')(
    'opens one file at a time for a client that requests many and reads none',
    async () => {
      const path = await scriptOf()
      const socket = connect(world.server.port, '127.0.0.1')
      await once(socket, 'connect')
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(300))
      const siteFiles = () => openFiles().filter((name) => name.includes('/console/dist/')).length
      await expect.poll(siteFiles).toBe(1)
      // The server still answers other requests, and opens no more files.
      for (let asked = 0; asked < 5; asked += 1) expect((await get('/')).status).toBe(200)
      expect(siteFiles()).toBe(1)
      socket.destroy()
      await expect.poll(siteFiles).toBe(0)
    },
  )

  it('takes nothing: what is sent to it is refused as at any other path', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) expect((await get('/', {}, method)).status).toBe(404)
  })
})
