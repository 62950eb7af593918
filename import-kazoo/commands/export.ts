import { printingRefusals } from '../../src/commands/refusals.ts'
import { status } from '../../src/commands/statuses.ts'
import { leavingJson, leavingText, openLeavingFolder } from '../export/folder.ts'
import { withImports } from './import.ts'
import { createTold } from './output.ts'

export const exportKazoo = (directory: string, { json = false }: { json?: boolean }): Promise<number> =>
  printingRefusals(() =>
    withImports(async ({ leave }) => {
      const folder = await openLeavingFolder(directory)
      const report = await leave(folder, createTold())
      process.stdout.write(
        json ? `${JSON.stringify(leavingJson(directory, report))}\n` : leavingText(directory, report),
      )
      return status.done
    }),
  )
