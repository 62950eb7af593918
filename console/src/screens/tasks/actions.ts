import { describeTasks } from '@crosspoint/client'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject, type Json } from '../../lib/json.ts'
import type { Task } from '../../lib/tasks.ts'

/** A task action as described by the server. */
export interface Action {
  category: string
  action: string
  description: string
  doc: string
  /** Columns of its input; undefined when it takes none. */
  columns: { mandatory: readonly string[]; optional: readonly string[] } | undefined
  /** Names of its alternative parameters. */
  parameters: readonly string[]
}

const textOf = (value: Json | undefined) => (typeof value === 'string' ? value : '')

const textsOf = (value: Json | undefined) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

const actionOf = (category: string, action: string, told: Json | undefined): readonly Action[] => {
  if (!isObject(told)) return []
  const { description, doc, expected_content, mandatory, optional, parameters } = told
  return [
    {
      category,
      action,
      description: textOf(description),
      doc: textOf(doc),
      columns:
        expected_content === undefined
          ? undefined
          : { mandatory: textsOf(mandatory), optional: textsOf(optional) },
      parameters: isObject(parameters) ? Object.keys(parameters) : [],
    },
  ]
}

const actionsIn = (tasks: unknown): readonly Action[] =>
  isObject(tasks)
    ? Object.entries(tasks).flatMap(([category, actions]) =>
        isObject(actions)
          ? Object.entries(actions).flatMap(([action, told]) => actionOf(category, action, told))
          : [],
      )
    : []

/** Everything that tasks can do. */
export const useActions = () => {
  const found = useAnswer(['task_action'], (signal) => describeTasks({ ...api, signal }))
  return { actions: found.data && actionsIn(found.data.data.tasks), error: found.error, again: found.refetch }
}

/** The description of a task, if the server has one. */
export const useDescription = () => {
  const { actions = [] } = useActions()
  return ({ category, action }: Pick<Task, 'category' | 'action'>) =>
    actions.find((one) => one.category === category && one.action === action)?.description ??
    `${category} / ${action}`
}
