import type { SearchResult } from 'minisearch'
import { findSections, readIndex } from './find.ts'

const shownResults = 20

const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
) => {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

const optionOf = (result: SearchResult, number: number, top: string) =>
  element(
    'a',
    {
      id: `result-${number}`,
      role: 'option',
      'aria-selected': 'false',
      href: `${top}${result.id}`,
      tabindex: '-1',
    },
    element('strong', {}, String(result.title)),
    ...(result.page === '' ? [] : [element('span', { class: 'page' }, String(result.page))]),
    element('span', { class: 'excerpt' }, String(result.excerpt)),
  )

const createDialog = (top: string) => {
  const input = element('input', {
    type: 'search',
    role: 'combobox',
    'aria-label': 'Search the documentation',
    'aria-controls': 'results',
    'aria-expanded': 'false',
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Search guides and operations',
  })
  const results = element('div', {
    id: 'results',
    class: 'results',
    role: 'listbox',
    'aria-label': 'Results',
  })
  const told = element('p', { role: 'status' })
  const close = element('button', { type: 'button' }, 'Close')
  const dialog = element(
    'dialog',
    { class: 'search', 'aria-label': 'Search' },
    element('div', { class: 'query' }, input, close),
    told,
    results,
  )
  close.addEventListener('click', () => dialog.close())
  // A click outside the content hits the backdrop of the dialog.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  // A result on the page that is open loads nothing.
  results.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a')) dialog.close()
  })

  let chosen = -1
  const options = () => [...results.querySelectorAll('a')]
  const choose = (number: number) => {
    const all = options()
    chosen = all.length === 0 ? -1 : (number + all.length) % all.length
    all.forEach((option, index) => {
      option.setAttribute('aria-selected', String(index === chosen))
    })
    all[chosen]?.scrollIntoView({ block: 'nearest' })
    if (chosen >= 0) input.setAttribute('aria-activedescendant', `result-${chosen}`)
    else input.removeAttribute('aria-activedescendant')
  }
  input.addEventListener('keydown', (event) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined) {
      event.preventDefault()
      choose(chosen + step)
    }
    if (event.key === 'Enter') options()[chosen]?.click()
  })

  const show = (found: readonly SearchResult[]) => {
    const shown = found.slice(0, shownResults)
    results.replaceChildren(...shown.map((result, number) => optionOf(result, number, top)))
    input.setAttribute('aria-expanded', String(shown.length > 0))
    const count =
      found.length > shownResults ? `The first ${shownResults} of ${found.length}` : `${found.length}`
    told.textContent =
      input.value.trim() === '' ? '' : found.length === 0 ? 'Nothing found' : `${count} found`
    choose(0)
  }
  return { dialog, input, show, tell: (text: string) => told.replaceChildren(text) }
}

const loadIndex = async (url: string) => {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`the index was answered with ${answer.status}`)
  return readIndex(await answer.text())
}

const create = (opener: HTMLButtonElement) => {
  const { dialog, input, show, tell } = createDialog(opener.dataset.top ?? './')
  document.body.append(dialog)
  let index: ReturnType<typeof readIndex> | undefined
  const search = () => {
    if (index) show(findSections(index, input.value))
  }
  input.addEventListener('input', search)
  return async () => {
    dialog.showModal()
    input.select()
    if (index) return
    tell('Loading')
    try {
      index = await loadIndex(opener.dataset.index ?? '')
      search()
    } catch {
      tell('The index could not be loaded. Open the search again to retry.')
    }
  }
}

let open: (() => Promise<void>) | undefined

export const showSearch = (opener: HTMLButtonElement) => {
  open ??= create(opener)
  return open()
}
