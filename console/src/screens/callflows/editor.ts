import { listSchemas } from '@crosspoint/client'
import { createContext, use } from 'react'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import type { Path, Step } from './flow.ts'

/** What is asked about a step. `key` is undefined where it is to be chosen. */
export type Question =
  | { ask: 'new'; parent?: Path; key: string | undefined }
  | { ask: 'settings' | 'move' | 'remove'; path: Path }

export interface Editor {
  flow: Step | undefined
  /** The ID of the callflow; undefined while it is new. */
  callflowId: string | undefined
  /** The focus goes to the step at `focus`. */
  change: (flow: Step | undefined, focus: Path) => void
  ask: (question: Question) => void
  /** Closes the question. The focus returns to a step. */
  close: (focus: Path) => void
  nameOf: (id: string) => string | undefined
  /** Modules that the server carries out without a media server. */
  served: ReadonlySet<string>
}

const EditorContext = createContext<Editor | undefined>(undefined)
export const EditorProvider = EditorContext.Provider

export const useEditor = (): Editor => {
  const editor = use(EditorContext)
  if (!editor) throw new Error('no callflow is open')
  return editor
}

const prefix = 'callflows.'

/** The server publishes a schema for each module that it carries out. */
export const useServedModules = () => {
  const { data, error, refetch } = useAnswer(['schema'], (signal) => listSchemas({ ...api, signal }))
  const names = data?.data.filter((name) => name.startsWith(prefix))
  return { served: names && new Set(names.map((name) => name.slice(prefix.length))), error, again: refetch }
}
