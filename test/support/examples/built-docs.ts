// The documentation as a separate site, built once for all tests.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { buildDocs } from '../../../scripts/build-docs.mjs'

/** Builds the site for a suite. Returns its folder, which exists when the suite runs. */
export const useBuiltDocs = () => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-docs-'))
  beforeAll(() => buildDocs({ outDir: folder, place: 'alone' }), 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
}

/** A plain web server: it serves the files of a folder below a given path, and adds no pages. */
export const useWebServer = (folder: string, below: string) => {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = pathname.slice(below.length).replace(/\/$/, '/index.html')
    try {
      if (!pathname.startsWith(below)) throw new Error('not below')
      const bytes = readFileSync(join(folder, name))
      response
        .writeHead(200, { 'content-type': types[extname(name)] ?? 'application/octet-stream' })
        .end(bytes)
    } catch {
      response.writeHead(404).end()
    }
  })
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  afterAll(() => void server.close())
  return {
    url: (path: string) => {
      const { port } = server.address() as AddressInfo
      return `http://127.0.0.1:${port}${below}${path}`
    },
  }
}
