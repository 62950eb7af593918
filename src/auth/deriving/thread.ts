import { parentPort } from 'node:worker_threads'
import type { Numbered } from '../../storage/worker-link.ts'
import { type Derivation, derive } from '../credentials.ts'

// Runs in a worker thread: a derivation takes all of a core for a tenth of a second.
parentPort?.on('message', ({ number, content }: Numbered<Derivation>) => {
  parentPort?.postMessage({ number, content: derive(content) })
})
