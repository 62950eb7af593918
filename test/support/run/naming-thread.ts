import { parentPort, threadId } from 'node:worker_threads'
import type { Numbered } from '../../../src/storage/worker-link.ts'

// Answers every question with the number of its thread.
parentPort?.on('message', ({ number }: Numbered<unknown>) => {
  parentPort?.postMessage({ number, content: threadId })
})
