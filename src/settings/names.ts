const name = /^[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,127}$/

// Names that mean something else to every JavaScript object, and the key that answers carry.
const reserved = new Set(['id', '__proto__', 'constructor', 'prototype'])

/** Whether a text can name a settings document or one of its sections. */
export const isSettingsName = (text: string) => name.test(text) && !reserved.has(text)
