/** Answers each job that the parent process sends, until the parent goes. */
export const serveParent = <Job, Result>(run: (job: Job) => Promise<Result>) => {
  process.on('message', (job: Job) => {
    run(job).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ error: error.stack ?? error.message }),
    )
  })
  process.on('disconnect', () => process.exit())
}
