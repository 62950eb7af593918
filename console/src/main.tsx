import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './frame/frame.css'
import { setNonce } from 'get-nonce'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { loadBrand } from './lib/brand.ts'
import { styleNonce } from './lib/style-nonce.ts'
import { startTexts } from './lib/texts.ts'

const showIcon = (url: string) => {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (link) link.href = url
}

const start = async () => {
  const nonce = styleNonce()
  if (nonce !== undefined) setNonce(nonce)
  const [brand] = await Promise.all([loadBrand(), startTexts()])
  if (brand.iconUrl) showIcon(brand.iconUrl)
  const root = document.getElementById('root')
  if (root) createRoot(root).render(<App brand={brand} />)
}

void start()
