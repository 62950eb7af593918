import './reference.css'
import { createAccess } from './access.ts'
import { isObject, type JsonObject } from './slice.ts'

const place = (id: string) => {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no ${id}`)
  return found
}

const reference = place('reference')
const access = createAccess(place('access'), reference.dataset.console)

const fetchDocument = async (): Promise<JsonObject> => {
  const answer = await fetch(reference.dataset.document ?? '')
  const read: unknown = answer.ok ? await answer.json() : undefined
  if (!isObject(read)) throw new Error(`the description was answered with ${answer.status}`)
  return read
}

const load = () => Promise.all([import('./operation.ts'), fetchDocument()])
let loaded: ReturnType<typeof load> | undefined

/** An operation loads its form when it opens: that takes half a megabyte of script. */
const show = async (operation: HTMLDetailsElement) => {
  const detail = operation.querySelector('.detail')
  if (!detail || operation.dataset.shown !== undefined) return
  operation.dataset.shown = ''
  try {
    loaded ??= load()
    const [{ showOperation }, described] = await loaded
    showOperation(detail, described, operation.id, access)
  } catch {
    loaded = undefined
    delete operation.dataset.shown
    const failed = document.createElement('p')
    failed.setAttribute('role', 'status')
    failed.textContent = 'The details could not be loaded. Close and open this operation to try again.'
    detail.replaceChildren(failed)
  }
}

/** Loads when the pointer or focus comes near. */
const loadEarly = () => {
  loaded ??= load()
  // Shows a message if loading fails.
  loaded.catch(() => undefined)
}
reference.addEventListener('pointerover', loadEarly, { once: true })
reference.addEventListener('focusin', loadEarly, { once: true })

const operations = [...reference.querySelectorAll('details')]
for (const operation of operations) {
  operation.addEventListener('toggle', () => {
    if (!operation.open) return
    history.replaceState(null, '', `#${operation.id}`)
    void show(operation)
  })
}

const openNamed = () => {
  const named = operations.find(({ id }) => `#${id}` === location.hash)
  if (!named) return
  named.open = true
  named.scrollIntoView()
}
addEventListener('hashchange', openNamed)
openNamed()
