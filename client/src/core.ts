// The client without what is generated from the API's description: paths by their text, answers by a type of the
// caller's.
export { credentialsOf } from './credentials.ts'
export { type CrosspointCore, type CrosspointOptions, createCrosspoint } from './crosspoint.ts'
export { type CsvOptions, type CsvRow, createCsvReader, type Sheet } from './csv.ts'
export type { Envelope } from './errors.ts'
export {
  ChargesNeeded,
  CrosspointError,
  type Problem,
  type QuotedInvoice,
  type QuotedItem,
  type QuoteSummary,
  SignedOut,
  StaleEdit,
  Unreachable,
} from './errors.ts'
export type { CrosspointEvent, FollowOptions, FollowState } from './events.ts'
export { type Answer, ifMatch, type Query, type RequestOptions } from './request.ts'
export { freshKey, type Waiting } from './sending.ts'
export {
  type KeyValueStorage,
  type Login,
  localStorageStore,
  memoryStore,
  type Session,
  type SessionStore,
  sessionIn,
} from './session.ts'
export type {
  AccountNamed,
  KeyProof,
  Proof,
  RecoveryRequest,
  SecondFactorNeeded,
  SignedIn,
} from './sign-in.ts'
