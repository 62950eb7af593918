import { printingRefusals } from '../../src/commands/refusals.ts'
import { status } from '../../src/commands/statuses.ts'
import { exportReportJson, exportReportText, openExportFolder } from '../export/folder.ts'
import { withImports } from './import.ts'
import { createProgressPrinter } from './output.ts'

export const exportKazoo = (directory: string, { json = false }: { json?: boolean }): Promise<number> =>
  printingRefusals(() =>
    withImports(async ({ leave }) => {
      const folder = await openExportFolder(directory)
      const report = await leave(folder, createProgressPrinter())
      process.stdout.write(
        json
          ? `${JSON.stringify(exportReportJson(directory, report))}\n`
          : exportReportText(directory, report),
      )
      return status.done
    }),
  )
