import { environment, nodeOptions } from '../../scripts/server-process.mjs'
import { environmentOfPrograms } from '../config/env.ts'
import { boundOldGeneration } from './heap-bounds.ts'

/**
 * Goes on as the same process, from the beginning of the command, with what bounds the memory of a server; returns where it
 * was started so, and where a process cannot do that.
 */
export const boundMemory = (): void => {
  boundOldGeneration()
  if (nodeOptions.every((option) => process.execArgv.includes(option))) return
  const [node = process.execPath, ...rest] = process.argv
  const options = [...process.execArgv, ...nodeOptions]
  process.execve?.(node, [node, ...options, ...rest], { ...environment, ...environmentOfPrograms() })
}
