(comment) @comment
(string) @string
(escape) @string.escape
(docstring) @string.documentation
(integer) @number
(float) @number.float
[(true) (false)] @boolean
(none) @constant.builtin
[(parallel) (ellipsis)] @keyword

["kernel" "program" "def"] @keyword.function
["const" "tune" "require"] @keyword
["from" "import"] @keyword.import
["for" "while" "in"] @keyword.repeat
["if" "elif" "else"] @keyword.conditional
"return" @keyword.return
["assert" (pass)] @keyword
["out" "inout"] @keyword.modifier
["and" "or" "not"] @keyword.operator

["=" "+=" "-=" "*=" "/=" "//=" "%=" "**=" "&=" "|=" "^=" "<<=" ">>=" "+" "-" "*" "/" "//" "%" "**" "&" "|" "^" "~"
 "<<" ">>" "==" "!=" "<" "<=" ">" ">="] @operator
["(" ")" "[" "]"] @punctuation.bracket
["," ":" ";" "."] @punctuation.delimiter

(identifier) @variable
(kernel name: (identifier) @function)
(program name: (identifier) @function)
(function name: (identifier) @function)
(call function: (identifier) @function.call)
(call function: (attribute name: (identifier) @function.call))
(parameter name: (identifier) @variable.parameter)
(default name: (identifier) @variable.parameter)
(keyword name: (identifier) @variable.parameter)
(type dtype: (identifier) @type)
(const name: (identifier) @constant)
(tune name: (identifier) @constant)
((identifier) @type.builtin
 (#match? @type.builtin "^([uif][1-8]|[uif](16|32|64)|bf16|tf32|f[3-8]e[0-9]m[0-9]+(b[0-9]+)?(fn|fnuz|fnz)?|bool|index)$"))
