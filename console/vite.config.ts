import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: folder('.'),
  plugins: [react()],
  resolve: {
    alias: { '@crosspoint/client': folder('../client/src/index.ts') },
    // What the client's sources import is installed here.
    dedupe: ['react', 'react-dom'],
  },
  build: {
    target: 'es2022',
    // No script may stand in the page itself: not even the one that older browsers would need.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})
