# Removes what `cmake --install` has put somewhere: the files that
# install_manifest.txt of the build folder names, then folders that are empty.
# `ninja -C build uninstall` runs it: cmake -D MANIFEST=FILE -P this.
if(NOT EXISTS ${MANIFEST})
    message(FATAL_ERROR "Nothing was installed from this build folder: "
        "there is no ${MANIFEST}")
endif()
file(STRINGS ${MANIFEST} files)
set(folders)
foreach(file ${files})
    message(STATUS "Uninstalling: $ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
    if(EXISTS "$ENV{DESTDIR}${file}")
        message(FATAL_ERROR "Cannot remove $ENV{DESTDIR}${file}: run it as "
            "the user that installed it")
    endif()
    # Only the folders that are named after KubeLua are its own.
    get_filename_component(folder ${file} DIRECTORY)
    while(folder MATCHES "/kubelua(/|$)")
        list(APPEND folders ${folder})
        get_filename_component(folder ${folder} DIRECTORY)
    endwhile()
endforeach()
if(folders)
    list(REMOVE_DUPLICATES folders)
    list(SORT folders ORDER DESCENDING) # a folder comes before its parent
endif()
foreach(folder ${folders})
    file(GLOB left "$ENV{DESTDIR}${folder}/*" "$ENV{DESTDIR}${folder}/.*")
    list(FILTER left EXCLUDE REGEX "/\\.\\.?$")
    if(NOT left)
        file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
    endif()
endforeach()
file(REMOVE ${MANIFEST})
