import type { SwaggerComponent, SwaggerPlugin, SwaggerProps } from 'swagger-ui-dist/swagger-ui-es-bundle.js'

/** Swagger UI gives most of its fields no name. */
const nameFields = (place: Element | null) => {
  for (const field of place?.querySelectorAll('input, select, textarea') ?? []) {
    const name = field.closest('tr')?.getAttribute('data-param-name') ?? 'Body of the request'
    if (!field.hasAttribute('aria-label')) field.setAttribute('aria-label', name)
  }
}

const nothing = () => () => null

/**
 * Swagger UI's operation without title, server and token, which the page has itself. Other changes are for
 * keyboards and screen readers.
 */
export const bareOperation: SwaggerPlugin = ({ React: { createElement } }) => {
  const withNamedFields = (Original: SwaggerComponent) => (props: SwaggerProps) =>
    createElement('div', { className: 'named', ref: nameFields }, createElement(Original, props))
  return {
    components: {
      BareOperation: ({ getComponent }) =>
        createElement('div', { className: 'swagger-ui' }, createElement(getComponent('operations', true))),
    },
    wrapComponents: {
      OperationTag:
        () =>
        ({ children }) =>
          children,
      OperationSummary: nothing,
      operationServers: nothing,
      HighlightCode: (Original) => (props) =>
        createElement(
          'div',
          { className: 'reading', tabIndex: 0, role: 'group', 'aria-label': 'Text' },
          createElement(Original, props),
        ),
      JsonSchemaForm: withNamedFields,
      TextArea: withNamedFields,
    },
  }
}
