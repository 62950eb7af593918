import type { TaskAction } from '../../work/tasks/operations.ts'
import { createNumberInputActions, type NumberTaskDeps } from './bulk/input.ts'
import { createNumberOutputActions } from './bulk/output.ts'

/** What tasks can do with numbers: the category `number_management`. */
export const createNumberTasks = (tools: NumberTaskDeps): TaskAction[] => [
  ...createNumberOutputActions(tools),
  ...createNumberInputActions(tools),
]
