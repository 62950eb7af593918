// Loaded into every Node process of a run by `npm run test:chance`: delays timers and HTTP responses by chance, as
// a busy machine does. A test whose result depends on how soon something happens fails here.
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { threadId } from 'node:worker_threads'

const share = 0.1
const longestDelayMs = 80

/** Mulberry32: the same delays for the same seed, as far as the order of the calls is the same. */
const createRandom = (seed) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const random = createRandom(Number(process.env.CROSSPOINT_TEST_DELAYS) + threadId)
const extraMs = () => (random() < share ? Math.ceil(random() * longestDelayMs) : 0)

const { setTimeout: startTimer } = timers

// setInterval stays: its rounds may not become fewer than a test waits for. setImmediate stays: no machine changes the order of
// immediates, and Playwright depends on it.
const delayedTimeout = (callback, ms = 1, ...args) => startTimer(callback, Number(ms) + extraMs(), ...args)

// util.promisify(setTimeout) finds the promise form there.
for (const symbol of Object.getOwnPropertySymbols(startTimer))
  Object.defineProperty(delayedTimeout, symbol, Object.getOwnPropertyDescriptor(startTimer, symbol))

const { setTimeout: sleep } = timersPromises
timersPromises.setTimeout = (ms = 1, ...rest) => sleep(Number(ms) + extraMs(), ...rest)

timers.setTimeout = delayedTimeout
globalThis.setTimeout = delayedTimeout

// A client sees a response late, and the work of the server after it may have happened or not. Later events of
// the request stay behind the response.
const emit = http.ClientRequest.prototype.emit
const waitingEvents = new WeakMap()
http.ClientRequest.prototype.emit = function (event, ...args) {
  const waiting = waitingEvents.get(this)
  if (waiting) return waiting.push([event, ...args]) > 0
  const ms = event === 'response' ? extraMs() : 0
  if (ms === 0) return emit.call(this, event, ...args)
  if (this.listenerCount(event) === 0) return false
  const late = [[event, ...args]]
  waitingEvents.set(this, late)
  startTimer(() => {
    waitingEvents.delete(this)
    for (const one of late) emit.apply(this, one)
  }, ms)
  return true
}

syncBuiltinESMExports()
