/** What the server lets the styles of this page be known by: nothing else that is written into the page counts. */
export const styleNonce = () =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce || undefined
