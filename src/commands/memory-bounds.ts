import { environment, nodeOptions } from '../../scripts/server-process.mjs'
import { environmentOfPrograms } from '../config/env.ts'
import { boundOldGeneration } from './heap-bounds.ts'

/** Restarts the process with the memory options of a server; returns if it has them, or cannot restart. */
export const boundMemory = (): void => {
  boundOldGeneration()
  if (nodeOptions.every((option) => process.execArgv.includes(option))) return
  const [node = process.execPath, ...rest] = process.argv
  const options = [...process.execArgv, ...nodeOptions]
  process.execve?.(node, [node, ...options, ...rest], { ...environment, ...environmentOfPrograms() })
}
