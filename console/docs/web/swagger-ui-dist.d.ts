// The parts that the reference uses: the package has no types.
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  export interface SwaggerRequest {
    url: string
    headers: Record<string, string>
  }
  export type SwaggerElement = { readonly type: unknown } | string | null
  export interface SwaggerProps {
    getComponent(name: string, container: true): SwaggerComponent
    children: SwaggerElement
  }
  export type SwaggerComponent = (props: SwaggerProps) => SwaggerElement
  export type SwaggerPlugin = (system: {
    React: {
      createElement(
        type: string | SwaggerComponent,
        props?: SwaggerProps | Readonly<Record<string, unknown>>,
        ...children: readonly SwaggerElement[]
      ): SwaggerElement
    }
  }) => {
    components: Readonly<Record<string, SwaggerComponent>>
    wrapComponents: Readonly<Record<string, (original: SwaggerComponent) => SwaggerComponent>>
  }
  export interface SwaggerOptions {
    domNode: Element
    spec: object
    deepLinking: boolean
    docExpansion: 'list' | 'full' | 'none'
    defaultModelsExpandDepth: number
    displayRequestDuration: boolean
    syntaxHighlight: false
    validatorUrl: null
    layout: string
    requestInterceptor(request: SwaggerRequest): SwaggerRequest
    plugins: readonly SwaggerPlugin[]
  }
  const SwaggerUI: (options: SwaggerOptions) => unknown
  export default SwaggerUI
}
