// The console keeps its choice under this name: both change together.
const key = 'mantine-color-scheme-value'

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

export const isDark = () => {
  const chosen = localStorage.getItem(key)
  return chosen === 'dark' || (chosen !== 'light' && prefersDark.matches)
}

export const applyTheme = () => {
  // The reference's renderer looks for the class.
  document.documentElement.classList.toggle('dark-mode', isDark())
}

export const switchTheme = () => {
  localStorage.setItem(key, isDark() ? 'light' : 'dark')
  applyTheme()
}

export const onThemeChange = (run: () => void) => {
  prefersDark.addEventListener('change', run)
  addEventListener('storage', (event) => {
    if (event.key === key) run()
  })
}
