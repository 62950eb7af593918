import { parentPort, workerData } from 'node:worker_threads'
import type { Numbered } from '../../storage/worker-link.ts'
import { derive, type KeyLayer, type PasswordHashing } from '../credentials.ts'

const { layers }: { layers: readonly KeyLayer[] } = workerData

// Runs in a worker thread: a derivation takes all of a core for a tenth of a second.
parentPort?.on('message', ({ number, content }: Numbered<PasswordHashing>) => {
  parentPort?.postMessage({ number, content: derive(content, layers) })
})
