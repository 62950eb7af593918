// Index and query must agree on these.
export const searchOptions = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'excerpt'],
}
