import { applyTheme } from './theme-choice.ts'

// Runs before the page is painted, so that a dark page never flashes white.
document.documentElement.classList.add('scripted')
applyTheme()
