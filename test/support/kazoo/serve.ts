// The fake CouchDB as a separate process: prints its address and serves a generated system until it is ended.
// Usage: node test/support/kazoo/serve.ts [ACCOUNTS USERS NUMBERS CALLS MONTHS]
import { generatedSystem, largeSystem } from './generated.ts'
import { startKazoo } from './stand-in.ts'

const [accounts, users, numbers, calls, months] = process.argv.slice(2).map(Number)

const size = {
  accounts: accounts ?? largeSystem.accounts,
  users: users ?? largeSystem.users,
  numbers: numbers ?? largeSystem.numbers,
  calls: calls ?? largeSystem.calls,
  months: months ?? largeSystem.months,
  rates: largeSystem.rates,
}

const { url } = await startKazoo(generatedSystem(size))
process.stdout.write(`${url}\n`)
