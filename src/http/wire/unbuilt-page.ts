import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import type { PlainPage } from '../exchange.ts'

// Next to the folder of the built site. The launcher writes it (scripts/bootstrap.mjs).
const stateFileOf = (folder: string) => join(folder, '..', '.build-state.json')

interface BuildState {
  pid: number
  /** Unix time in ms. */
  startedMs: number
  failure?: string
}

const buildStateOf = (folder: string): BuildState | undefined => {
  try {
    return JSON.parse(readFileSync(stateFileOf(folder), 'utf8'))
  } catch {
    // There is no build, or its launcher is just writing the file.
    return undefined
  }
}

const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const textOf = ({ pid, startedMs, failure }: BuildState) => {
  if (failure === undefined && isRunning(pid)) {
    const seconds = Math.max(0, Math.round((systemClock.now() - startedMs) / 1000))
    return [
      `The console is being built (${seconds} s)`,
      'This page reloads until the console is ready. The API is ready.',
    ]
  }
  return [
    'The console could not be built',
    'The terminal of the server shows the cause. To try again, stop the server and run npm start. The API is ready.',
  ]
}

const secondsToReload = '2'

/** The page that replaces the console while it is built, or after its build failed; undefined if there is no build. */
export const unbuiltPage = (
  folder: string,
  headers: Readonly<Record<string, string>>,
): PlainPage | undefined => {
  const state = buildStateOf(folder)
  if (state === undefined) return undefined
  const [title, text] = textOf(state)
  const bytes = Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Crosspoint</title><meta name="color-scheme" content="light dark"><h1>${title}</h1><p>${text}</p></html>\n`,
  )
  return (request, response) => {
    response.writeHead(503, {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': bytes.length,
      refresh: secondsToReload,
      'retry-after': secondsToReload,
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }
}
