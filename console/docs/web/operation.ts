import 'swagger-ui-dist/swagger-ui.css'
import './operation.css'
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import type { Access } from './access.ts'
import { bareOperation } from './bare-operation.ts'
import { type JsonObject, sliceOf } from './slice.ts'

/** Fills in the account of the signed-in user. */
const withAccount = (document: JsonObject, accountId: string | undefined): JsonObject =>
  accountId === undefined
    ? document
    : JSON.parse(JSON.stringify(document), (_key, value) =>
        value?.in === 'path' && value.name === 'account_id' ? { ...value, example: accountId } : value,
      )

export const showOperation = (domNode: Element, described: JsonObject, id: string, access: () => Access) => {
  const slice = sliceOf(described, ({ operationId }) => operationId === id)
  SwaggerUI({
    domNode,
    spec: withAccount(slice, access().accountId),
    layout: 'BareOperation',
    plugins: [bareOperation],
    docExpansion: 'full',
    deepLinking: false,
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    // Its colours stand too close to each other.
    syntaxHighlight: false,
    validatorUrl: null,
    requestInterceptor(request) {
      const { server, token } = access()
      const { pathname, search } = new URL(request.url, location.href)
      request.url = `${server}${pathname}${search}`
      if (token !== undefined) request.headers['X-Auth-Token'] ??= token
      return request
    },
  })
}
