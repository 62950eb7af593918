import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: folder('.'),
  plugins: [react()],
  resolve: {
    alias: { '@crosspoint/client': folder('../client/src/index.ts') },
    // The dependencies of the client's sources are installed here.
    dedupe: ['react', 'react-dom'],
  },
  build: {
    target: 'es2022',
    // The page must not contain inline scripts, not even the one for older browsers.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})
