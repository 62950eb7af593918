import './site.css'
import { applyTheme, isDark, onThemeChange, switchTheme } from './theme-choice.ts'

const button = (id: string) => {
  const found = document.getElementById(id)
  if (!(found instanceof HTMLButtonElement)) throw new Error(`the page has no button ${id}`)
  return found
}

const menu = button('menu')
const setMenu = (isOpen: boolean) => {
  menu.setAttribute('aria-expanded', String(isOpen))
  document.documentElement.classList.toggle('menu-open', isOpen)
}
menu.addEventListener('click', () => setMenu(menu.getAttribute('aria-expanded') !== 'true'))

const theme = button('theme')
const showTheme = () => {
  applyTheme()
  theme.textContent = isDark() ? 'Light' : 'Dark'
}
theme.addEventListener('click', () => {
  switchTheme()
  showTheme()
})
onThemeChange(showTheme)
showTheme()

const search = button('search')
const openSearch = async () => {
  const { showSearch } = await import('./search.ts')
  await showSearch(search)
}
search.addEventListener('click', openSearch)

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && menu.getAttribute('aria-expanded') === 'true') {
    setMenu(false)
    menu.focus()
  }
  const asksForSearch = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
  if (!asksForSearch || isTyping(event.target)) return
  event.preventDefault()
  void openSearch()
})

const copiedForMs = 2000

// Browsers give pages without TLS no clipboard: there is nothing to press then.
if (navigator.clipboard !== undefined) {
  for (const block of document.querySelectorAll('.code')) {
    const copy = document.createElement('button')
    copy.type = 'button'
    copy.className = 'copy'
    copy.textContent = 'Copy'
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '')
      copy.textContent = 'Copied'
      setTimeout(() => {
        copy.textContent = 'Copy'
      }, copiedForMs)
    })
    block.append(copy)
  }
}
