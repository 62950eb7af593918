import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
}

const shown = 30

const placeOf = (url: string, line: number) =>
  url ? `${url.split('/').slice(-2).join('/')}:${line + 1}` : ''

// A thread that was found at work less often than this has nothing to show.
const fewestSamples = 200

const printThread = async (file: string, say: (line: string) => void) => {
  const { nodes, samples } = JSON.parse(await readFile(file, 'utf8')) as Profile
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${placeOf(url, lineNumber)}`,
    ]),
  )
  const counts = new Map<string, number>()
  let busy = 0
  for (const sample of samples) {
    const name = names.get(sample) as string
    if (name.startsWith('(idle)')) continue
    busy += 1
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  if (busy < fewestSamples) return
  const hottest = [...counts].sort(([, a], [, b]) => b - a).slice(0, shown)
  for (const [name, count] of hottest)
    say(`      ${((100 * count) / busy).toFixed(1).padStart(5)} %  ${name}`)
  say(`    profile: ${file}`)
}

/** The functions with the most samples of each thread, without idle time. */
export const printHottest = async (directory: string, say: (line: string) => void) => {
  for (const file of (await readdir(directory)).sort()) await printThread(join(directory, file), say)
}
