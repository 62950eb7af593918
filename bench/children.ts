import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'

/** A child process that does one job after the other. */
export interface Helper<Job, Result> {
  readonly pid: number
  run(job: Job): Promise<Result>
  stop(): Promise<void>
}

export const end = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM') => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/** Starts a script of this folder that calls `serveParent`; with `options`, as the program itself is started, for one. */
export const startHelper = <Job, Result>(script: string, options: ForkOptions = {}): Helper<Job, Result> => {
  const child = fork(new URL(script, import.meta.url), options)
  return {
    pid: child.pid as number,
    async run(job) {
      child.send(job as object)
      const [answer] = (await once(child, 'message')) as [{ result?: Result; error?: string }]
      if (answer.error !== undefined) throw new Error(answer.error)
      return answer.result as Result
    },
    stop: () => end(child),
  }
}
