export * from './core.ts'
export * from './generated/index.ts'
export type { AnswerOf, Crosspoint, Operation, OptionsOf, RowOf } from './typed.ts'
// Replaces the client without generated functions.
export { createCrosspoint } from './typed.ts'
