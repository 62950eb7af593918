const known = ['sqlite', 'postgres'] as const

export type Engine = (typeof known)[number]

const isEngine = (name: string): name is Engine => known.some((engine) => engine === name)

/** `ENGINE` names the only engine to test; `CROSSPOINT_TEST_ENGINES` lists several; all of them otherwise. */
export const chosenEngines = (env: NodeJS.ProcessEnv): readonly Engine[] => {
  const listed = env.ENGINE || env.CROSSPOINT_TEST_ENGINES || known.join(',')
  const names = listed.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !isEngine(name))
  if (unknown.length > 0) throw new Error(`no such test engine: ${unknown.join(', ')} (known: ${known.join(', ')})`)
  return names.filter(isEngine)
}

export const engines = chosenEngines(process.env)
