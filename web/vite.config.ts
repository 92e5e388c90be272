import { defineConfig } from 'vite';

// `npx vite` serves the sources, and passes requests for data to the mock
// server (npm run mock).
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    // The content security policy forbids data: in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8090' } },
});
