// The client of folder `client/` and a signed-in user, for the other examples. Your own program imports
// `@crosspoint/client` instead.

const built = new URL('../client/dist/index.js', import.meta.url)
const notBuilt = 'The client is not built yet: `npm start`, in the root of the repository, does it.'

export const client = await import(built).catch((error) => {
  throw error.code === 'ERR_MODULE_NOT_FOUND' ? new Error(notBuilt) : error
})

const server = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'

/** No user yet. */
export const connect = () => client.createCrosspoint({ server })

/** A user of an account, signed in with a password or by `{ token }`. */
export const signIn = async (proof) => {
  const crosspoint = connect()
  const { state } = await crosspoint.signIn(proof)
  if (state !== 'signed_in') throw new Error('a second factor is needed')
  return crosspoint
}

export const signInAsOperator = () => {
  const password = process.env.CROSSPOINT_ADMIN_PASSWORD
  if (!password)
    throw new Error('set CROSSPOINT_ADMIN_PASSWORD to the password that the first start has shown')
  return signIn({ account: process.env.CROSSPOINT_MASTER_ACCOUNT ?? 'master', username: 'admin', password })
}
